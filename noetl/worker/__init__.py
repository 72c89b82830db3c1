"""The data plane: claims work, drives pipelines, calls tools. Python tasks run in processes of their own."""
