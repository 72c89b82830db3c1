"""Traces for OpenTelemetry: an execution, its step runs and their tasks as spans."""
