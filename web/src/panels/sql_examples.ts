// Questions to start from, each with the tables that it needs; those that a report cannot answer are not offered. The test of
// the panel runs every one.

export interface Example {
  title: string;
  needs: readonly string[];
  statement: string;
}

export const EXAMPLES: readonly Example[] = [
  {
    title: "Kernels by time",
    needs: ["CUPTI_ACTIVITY_KIND_KERNEL"],
    statement: `SELECT value AS kernel, count(*) AS calls, sum(k.end - k.start) AS total_ns
FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds ON id = k.shortName
GROUP BY value ORDER BY total_ns DESC LIMIT 20`,
  },
  {
    title: "Longest kernels",
    needs: ["CUPTI_ACTIVITY_KIND_KERNEL"],
    statement: `SELECT k.start, k.end - k.start AS duration, value AS kernel, k.streamId
FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds ON id = k.shortName
ORDER BY duration DESC LIMIT 50`,
  },
  {
    title: "Slowest launch calls",
    needs: ["CUPTI_ACTIVITY_KIND_RUNTIME"],
    statement: `SELECT r.start, r.end - r.start AS duration, value AS call, r.globalTid & 0xffffff AS tid
FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds ON id = r.nameId
ORDER BY duration DESC LIMIT 50`,
  },
  {
    title: "Queue time from call to kernel",
    needs: ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"],
    statement: `SELECT r.start AS called, k.start AS began, k.start - r.end AS waited_ns, value AS kernel
FROM CUPTI_ACTIVITY_KIND_RUNTIME r
JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId
JOIN StringIds ON id = k.shortName
ORDER BY waited_ns DESC LIMIT 50`,
  },
  {
    title: "Largest copies",
    needs: ["CUPTI_ACTIVITY_KIND_MEMCPY"],
    statement: `SELECT start, end - start AS duration, bytes, copyKind
FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY bytes DESC LIMIT 50`,
  },
  {
    title: "NVTX ranges by time",
    needs: ["NVTX_EVENTS"],
    statement: `SELECT coalesce(text, value) AS range, count(*) AS instances, sum(end - start) AS total_ns
FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId
WHERE end IS NOT NULL GROUP BY range ORDER BY total_ns DESC LIMIT 50`,
  },
  {
    title: "Longest OS calls",
    needs: ["OSRT_API"],
    statement: `SELECT start, end - start AS duration, value AS call, globalTid & 0xffffff AS tid
FROM OSRT_API JOIN StringIds ON id = nameId ORDER BY duration DESC LIMIT 50`,
  },
  {
    title: "Strings of the report",
    needs: ["StringIds"],
    statement: `SELECT substr(value, 1, 40) AS name, id FROM StringIds ORDER BY id LIMIT 100`,
  },
];

/** A look at one table. */
export function peek(table: string): string {
  return `SELECT * FROM "${table.replace(/"/g, '""')}" LIMIT 100`;
}
