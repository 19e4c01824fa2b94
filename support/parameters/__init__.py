"""Every parameter of Interlock, declared once (README.md). `table.py` has all of them."""
