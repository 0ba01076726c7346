"""What records hold about interventions: questions to an expert, and chains of turns."""
