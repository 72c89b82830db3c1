"""The commands, one file each; a group of commands is a folder. What several of them share stands outside."""
