# Adds up the results of a test run and ends with "N passed, N failed, N skipped"; above it each skip with its reason
# and each failure with its test's name.  Status 1 when something failed or nothing ran.
#
#	awk -v problem=TEXT -f summary.awk TEST.log…
#
# Beside each TEST.log automake's driver leaves TEST.trs with one ":test-result: PASS" line a point; the log holds the
# same as "PASS: NAME DESCRIPTION" lines.  A test without .trs died before it could say anything: one failure.
# `problem` is what make said at the end; when no failed test explains it, it is a failure of its own.

function fail(line)
{
	failures[++nfailures] = line
}

function read_results(file,    line, points, result)
{
	points = 0
	while ((getline line < file) > 0) {
		if (line !~ /^:test-result: /)
			continue
		result = substr(line, length(":test-result: ") + 1)
		count[result]++
		points++
	}
	close(file)
	return points
}

function read_log(file,    line)
{
	while ((getline line < file) > 0) {
		if (line ~ /^(FAIL|ERROR|XPASS): /) {
			fail(line)
		} else if (line ~ /^SKIP: .*(#|-) SKIP *$/ || line ~ /^SKIP: [^#]*$/ && line !~ /^SKIP: .* - /) {
			unreasoned++
			fail("FAIL: " substr(line, length("SKIP: ") + 1) " (skipped without a reason)")
		} else if (line ~ /^SKIP: /) {
			print line
		}
	}
	close(file)
}

BEGIN {
	for (i = 1; i < ARGC; i++) {
		results = ARGV[i]
		sub(/\.log$/, ".trs", results)
		if (read_results(results)) {
			read_log(ARGV[i])
		} else {
			silent++
			fail("ERROR: " ARGV[i] " - no result: the test did not run or its driver died")
		}
	}
	passed = count["PASS"] + count["XFAIL"]
	failed = count["FAIL"] + count["ERROR"] + count["XPASS"] + silent + unreasoned
	skipped = count["SKIP"] - unreasoned
	if (problem != "" && !failed) {
		fail("ERROR: " problem)
		failed++
	}
	if (!passed && !failed) {
		fail("ERROR: no test ran")
		failed++
	}
	for (i = 1; i <= nfailures; i++)
		print failures[i]
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed > 0
}
