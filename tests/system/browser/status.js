// Before the status page's own script: answers to its questions out of a recording, ANSWERS, in place of the server. From the
// third question on there is one transaction more, and a later partition is idle: the page has to show it by itself.
"use strict";
/* One verdict more, which was taken back, and something that waits. */
ANSWERS.violations.lines.push({id: "00000000000000ff", state: "retracted", axiom: "EXT", tids: ["9"], key: "taken-back-key"});
ANSWERS.violations.next++;
for (const row of ANSWERS.status.metrics.isochron_verdicts_total) if (row.state === "retracted") row.value = 1;
ANSWERS.status.waiting = "3 reads for a watermark; the oldest for 12 s; held back by t/0 (last message 9 s ago)";
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
  const lined = [...latest.values()].filter(line => line.explanation && line.explanation.timeline).length;
  if (!lined || document.querySelectorAll("ol.line").length !== lined) fault("not as many time lines as were told");
  if (document.querySelectorAll("article").length !== latest.size) fault("not as many verdicts as were told");
  has("Waiting: " + ANSWERS.status.waiting);
  has("1 retracted");
  has("2 minutes ago");
  if (!/^[125]0*$/.test(document.getElementById("most").textContent.replace(/\u202f/g, ""))) fault("the axis has no round figure");
  if (document.querySelectorAll("#past article").length !== 1) fault("what was retracted is not folded away");
  if (document.getElementById("past").querySelector("summary").textContent.includes("0 retracted")) fault("a wrong count of what was retracted");
  const states = [...document.querySelectorAll("#violations article > p:first-child span")].map(e => e.textContent.split(" ")[0]);
  if (states.join() !== [...states].sort().join()) fault("tentative verdicts stand before final ones");
  if (!states.length) fault("violations were found, and the list is empty");
  for (const line of latest.values()) {
    if (!line.explanation) { has("key " + line.key); continue; }
    has(line.explanation.title);
    for (const step of line.explanation.steps) has(step);
    for (const row of line.explanation.timeline ? line.explanation.timeline.rows : []) {
      has(row.at);
      has(row.what);
    }
  }
};
