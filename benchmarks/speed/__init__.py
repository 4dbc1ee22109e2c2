"""Times picks, preparation, epochs, whole trainings and baselines beside lower bounds and other libraries."""
