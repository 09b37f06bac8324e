// Package browser holds stories of a person with a browser, who knows nothing of Loom but
// its page. They need Node.js, the packages that package.json names, and Chromium, so they
// run behind the build tag "browser":
//
//	(cd test/browser && npm ci) && go test -tags browser ./test/browser
//
// CHROMIUM says where it is, /usr/bin/chromium unless it is set. LOOM_PICTURES is a
// directory for pictures of every view.
package browser
