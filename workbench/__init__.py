"""What train.py is made of: one module a concern."""
