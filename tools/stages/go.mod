module github.com/loomrun/loom/tools/stages

go 1.26.7

require golang.org/x/exp v0.0.0-20260824195058-e88cd73687aa
