"""The nodes; each is an executable and imports what it needs from every package above."""
