// Package patch reads patches in the envelope that models write them in:
//
//	*** Begin Patch
//	*** Update File: PATH
//	*** Move to: PATH
//	@@ a line above
//	 a line that stays
//	-a line that goes
//	+a line that comes
//	*** End of File
//	*** Add File: PATH
//	+a line
//	*** Delete File: PATH
//	*** End Patch
//
// What a patch changes is told from its text alone ([Paths]), for who has to know
// that before it is applied.
package patch
