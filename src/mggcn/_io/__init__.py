"""Arrays and files as the rest of the package needs them."""
