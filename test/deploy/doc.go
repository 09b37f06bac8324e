// Package deploy holds the files in docs/deploy to what they are for: systemd's
// unit to systemd, the manifests to the types of Kubernetes' API, the compose file
// to its specification, and all of them to each other. No engine runs them here;
// whether the command has the flags that they use is checked beside the command.
//
// The schemas in testdata are written by tools/schemas. It has no code of its own.
package deploy
