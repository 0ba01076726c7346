"""Model calls beside a trial, each priced, recorded and never part of the agent's usage: judges and their panel."""
