"""Monitoring of Touchstone: rules and alerts for Prometheus, dashboards for Grafana."""
