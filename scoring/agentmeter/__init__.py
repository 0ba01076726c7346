"""The AgentMeter score (arXiv 2606.21140): budgets, tiers of difficulty, and quality within a budget."""
