// Before the status page's own script: answers to its questions out of a recording, ANSWERS, in place of the server. From the
// third question on there is one transaction more, and a later partition is idle: the page has to show it by itself.
"use strict";
let asked = 0;
window.fetch = async path => {
  const [name, since] = path.split("?since=");
  const answer = JSON.parse(JSON.stringify(ANSWERS[name]));
  if (name === "status" && ++asked >= 3) {
    answer.metrics.isochron_transactions_total = 987654321;
    answer.now += 1000 * asked;
    answer.metrics.isochron_partition_idle[0].value = 1;
  }
  if (name === "violations") answer.lines = answer.lines.slice(Number(since));
  return {ok: true, status: 200, json: async () => answer};
};
window.check_after = 3500;
window.expectations = fault => {
  const lines = ANSWERS.violations.lines, shown = document.body.innerText;
  if (/[\u202a-\u202e]/.test(shown)) fault("a name turns the direction of writing");
  const has = text => {
    text = text.replace(/\u202e/g, "\\u202e");
    if (!shown.includes(text)) fault("the page does not say: " + text);
  };
  has("987\u202f654\u202f321");
  has("idle");
  has("violations found");
  for (const row of ANSWERS.status.metrics.isochron_partition_watermark) has(String(row.value));
  const latest = new Map(lines.map(line => [line.id, line]));
  if (latest.size === lines.length) fault("no verdict had two steps to be told");
  const lined = [...latest.values()].filter(line => line.explanation.timeline).length;
  if (!lined || document.querySelectorAll("ol.line").length !== lined) fault("not as many time lines as were told");
  if (document.querySelectorAll("article").length !== latest.size) fault("not as many verdicts as were told");
  for (const line of latest.values()) {
    has(line.explanation.title);
    for (const step of line.explanation.steps) has(step);
    for (const row of line.explanation.timeline ? line.explanation.timeline.rows : []) {
      has(row.at);
      has(row.what);
    }
  }
};
