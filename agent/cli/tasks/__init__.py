"""The verbs of `agent tasks` that are more than a list: datasets and checks. `agent.cli.commands.tasks` adds them."""
