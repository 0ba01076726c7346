"""Texts of people and other models that help an agent: the rule that they must hold no code."""
