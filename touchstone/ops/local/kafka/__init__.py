"""Apache Kafka without Docker: fetched from Maven artifacts, run as KRaft nodes on loopback."""
