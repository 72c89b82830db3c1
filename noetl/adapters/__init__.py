"""One folder per product that the engine stores in or speaks through. Adapters know no other adapter."""
