"""What runs inside an evaluator, beside the candidate: standard library and pytest only, nothing of ours."""
