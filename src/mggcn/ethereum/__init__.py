"""Ethereum: collect or simulate transactions, and build a data set of accounts from them."""
