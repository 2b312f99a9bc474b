"""Checks captures on a cluster of two executors on this machine, lists the servers with the lowest response
rates, and writes tables as Parquet.

    python cluster.py TABLES CAPTURE...

On a real cluster, start it with `spark-submit`, which sets the master.
"""

import os
import sys

from gamewire import spark as on_spark
from pyspark.sql import SparkSession

tables, *paths = sys.argv[1:]

builder = SparkSession.builder.appName("gamewire").config("spark.ui.enabled", "false")
if "SPARK_ENV_LOADED" not in os.environ:  # not by spark-submit
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = builder.master("local-cluster[2,1,1024]")
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

print(on_spark.verdict(spark, paths))

servers = on_spark.servers(spark, paths).cache()
servers.createOrReplaceTempView("servers")
spark.sql(
    """
    SELECT server, name, map, exchanges, round(100 * answered / exchanges, 1) AS percent, changes
    FROM servers WHERE exchanges > 0 ORDER BY percent, exchanges DESC LIMIT 20
    """
).show(truncate=False)

servers.write.parquet(f"{tables}/servers")
on_spark.messages(spark, paths).write.parquet(f"{tables}/messages")
spark.stop()
