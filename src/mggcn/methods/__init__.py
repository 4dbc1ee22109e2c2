"""Methods: one class per paper, whose fields are its settings."""

from mggcn.methods.method import GraphView, Method
from mggcn.methods.names import METHODS
from mggcn.methods.plan import Plan, method_class, published_results, resolve, view_of

__all__ = ["METHODS", "GraphView", "Method", "Plan", "method_class", "published_results", "resolve", "view_of"]
