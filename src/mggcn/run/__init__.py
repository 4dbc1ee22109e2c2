"""Training a method on a data set, and predictions from the trained model."""

from mggcn.run.run import Run, choose_device, config_of, fit, load_run, read_config

__all__ = ["Run", "choose_device", "config_of", "fit", "load_run", "read_config"]
