"""Tests of playbooks: what a test expects against what was seen, and how much its runs went through."""
