"""Records of plans: what they hold, and where they are. They stand in a runs directory beside the batches of trials."""
