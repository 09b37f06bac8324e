// Package clients holds stories of clients in other languages than Go, which
// know nothing of Loom but its subjects and messages. They need Node.js and the
// packages that package.json names, so they run behind the build tag "clients":
//
//	(cd test/clients && npm ci) && go test -tags clients ./test/clients
package clients
