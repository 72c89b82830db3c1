"""Ways to tell somebody: signed webhooks, chat rooms, mail."""
