"""The parts of the documentation that the code writes: pages, tables and pictures, made whenever the site is built."""
