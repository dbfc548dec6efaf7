"""The two tests that plant records before training: canaries in a copy of a corpus, and audits of privacy claims."""
