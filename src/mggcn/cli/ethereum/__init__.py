"""``mggcn ethereum``: collect or simulate transactions, and build data sets of accounts from them."""

from cyclopts import App

from mggcn.cli.ethereum.build import build
from mggcn.cli.ethereum.crawl import crawl
from mggcn.cli.ethereum.labels import labels
from mggcn.cli.ethereum.simulate import simulate

app = App(name="ethereum", help="Collect or simulate transactions, and build data sets of accounts from them.")
for command in (build, crawl, labels, simulate):
    app.command(command)
