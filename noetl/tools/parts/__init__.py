"""What several kinds share: paths, tables of rows, SQL text. No kind lives here."""
