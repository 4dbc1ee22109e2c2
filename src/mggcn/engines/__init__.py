"""The engines that compute tables larger than memory: DuckDB in this process, or Spark."""
