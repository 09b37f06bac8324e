package git
