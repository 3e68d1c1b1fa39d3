"""What happens before the services start: one module a concern.

Runs with the standard library alone (``python3 -S``), so that it is quick.
"""
