// Two buyers at once take a piece each from one stock, by pgx, at READ COMMITTED: the second overwrites what the first left. MENDED=1: each
// locks the row.
package main

import (
	"context"
	"os"
	"sync"

	"github.com/jackc/pgx/v4"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	lock := ""
	if os.Getenv("MENDED") != "" {
		lock = " FOR UPDATE"
	}
	open := func() *pgx.Conn {
		connection, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
		must(err)
		return connection
	}
	run := func(connection *pgx.Conn, sql string, values ...interface{}) {
		_, err := connection.Exec(ctx, sql, values...)
		must(err)
	}
	first := open()
	run(first, "CREATE TABLE go_item (id int PRIMARY KEY, stock int)")
	run(first, "INSERT INTO go_item VALUES (1, 10)")
	var looked, done sync.WaitGroup
	looked.Add(2)
	for i := 0; i < 2; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			buyer := open()
			transaction, err := buyer.Begin(ctx)
			must(err)
			var stock int
			must(transaction.QueryRow(ctx, "/* test: TestBuyers */ SELECT stock FROM go_item WHERE id = $1"+lock, 1).Scan(&stock))
			looked.Done()
			if lock == "" {
				looked.Wait()
			}
			_, err = transaction.Exec(ctx, "/* test: TestBuyers */ UPDATE go_item SET stock = $1 WHERE id = $2", stock-1, 1)
			must(err)
			must(transaction.Commit(ctx))
			must(buyer.Close(ctx))
		}()
	}
	done.Wait()
	run(first, "DROP TABLE go_item")
	must(first.Close(ctx))
}
