"""Every call into Gaia; alone here is `gaia` imported.

Runs inside our process or as a worker under another interpreter, which has Gaia and has
not us: so nothing of the project is imported, only the standard library and Gaia.
"""
