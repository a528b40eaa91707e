// Two buyers at once take a piece each from one stock, by pg, at READ COMMITTED: the second overwrites what the first left. MENDED=1: each
// locks the row.
const { Client } = require("pg");
const mended = Boolean(process.env.MENDED);

async function open() {
  const client = new Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  return client;
}

let looked = 0;
async function buy() {
  const buyer = await open();
  await buyer.query("BEGIN");
  const lock = mended ? " FOR UPDATE" : "";
  const { rows } = await buyer.query("/* test: buyers */ SELECT stock FROM js_item WHERE id = $1" + lock, [1]);
  looked++;
  while (!mended && looked < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  await buyer.query("/* test: buyers */ UPDATE js_item SET stock = $1 WHERE id = $2", [rows[0].stock - 1, 1]);
  await buyer.query("COMMIT");
  await buyer.end();
}

async function main() {
  const first = await open();
  await first.query("CREATE TABLE js_item (id int PRIMARY KEY, stock int)");
  await first.query("INSERT INTO js_item VALUES (1, 10)");
  await Promise.all([buy(), buy()]);
  await first.query("DROP TABLE js_item");
  await first.end();
}

main().catch((error) => { console.error(error); process.exit(1); });
