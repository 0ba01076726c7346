"""The commands that an agent ran: parsed, classified, and how they ended."""
