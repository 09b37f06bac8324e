// Package sheet is tables with named columns, in CSV and in workbooks (XLSX).
//
// It promises that columns are found by name and never by a cell's address;
// that numbers keep every digit they were written with; that a table that it
// writes as CSV holds nothing that a spreadsheet program would run; and that
// reading ends in bounded memory, whatever the file says (see Limits).
//
// It works on bytes and touches no file, never evaluates the formulas of a
// workbook that somebody else wrote (it reads the values saved with them), and
// runs no macros.
package sheet
