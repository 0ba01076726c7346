"""Plans, questions and answers."""
