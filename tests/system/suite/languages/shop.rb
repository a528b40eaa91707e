# Two buyers at once take a piece each from one stock, by Rails' ActiveRecord, at READ COMMITTED: the second overwrites what the first left.
# MENDED=1: each locks the row.
require "active_record"

ActiveRecord::Base.establish_connection(ENV.fetch("DATABASE_URL").sub(/^postgres(ql)?:/, "postgresql:"))
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define { create_table(:rb_items) { |table| table.integer :stock } }

class RbItem < ActiveRecord::Base
end

RbItem.create!(id: 1, stock: 10)
mended = ENV["MENDED"]
looked = Queue.new
2.times.map do
  Thread.new do
    RbItem.transaction do
      item = (mended ? RbItem.lock : RbItem).annotate("test: buyers").find(1)
      looked << true
      Thread.pass until mended || looked.size == 2
      item.update!(stock: item.stock - 1)
    end
    ActiveRecord::Base.connection_pool.release_connection
  end
end.each(&:join)
ActiveRecord::Schema.define { drop_table :rb_items }
