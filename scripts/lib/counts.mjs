/** @typedef {{ passed: number, failed: number }} Counts */

/**
 * Counts of a vitest run from its JSON report. Files that failed without a failing test (they did not load, or a hook
 * threw) count as one failure each, and so does a run that ended badly for a reason outside any test.
 *
 * @returns {Counts}
 */
export function countVitest(report, exitCode) {
  if (!report) return { passed: 0, failed: 1 };
  const brokenFiles = report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  );
  const failed = report.numFailedTests + brokenFiles.length;
  return { passed: report.numPassedTests, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
}

/**
 * Counts of the C++ test program from its closing line `N passed, N failed`. A program that crashed (or whose sanitizer
 * found something) counts as a failure even if all its tests passed.
 *
 * @returns {Counts}
 */
export function countEngine(output, exitCode) {
  const line = [...output.matchAll(/(\d+) passed, (\d+) failed/g)].at(-1);
  const counts = { passed: Number(line?.[1] ?? 0), failed: Number(line?.[2] ?? 0) };
  if (counts.failed === 0 && (exitCode !== 0 || line === undefined)) counts.failed = 1;
  return counts;
}

/** @param {Counts[]} all */
export function sumCounts(all) {
  return all.reduce((sum, one) => ({ passed: sum.passed + one.passed, failed: sum.failed + one.failed }), {
    passed: 0,
    failed: 0,
  });
}

export function closingLine({ passed, failed }) {
  return `${passed} passed, ${failed} failed`;
}
