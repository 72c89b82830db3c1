"""The direct link: workers dial the servers' HTTP port and stay connected."""
