# Two buyers below ActiveRecord, who each read before either writes; with LOCK=1 each locks the row first.
require "active_record"
ActiveRecord::Base.establish_connection(ENV["DATABASE_URL"])
class Item < ActiveRecord::Base
  self.table_name = "item"
end
first_has_read = Queue.new
buy = lambda do |before_writing|
  ActiveRecord::Base.connection_pool.with_connection do
    Item.transaction do
      item = ENV["LOCK"] ? Item.lock.find(1) : Item.find(1)
      before_writing.call
      item.update!(stock: item.stock - 1)
    end
  end
end
one = Thread.new { buy.call(-> { first_has_read << true; sleep 0.5 }) }
two = Thread.new { first_has_read.pop; buy.call(-> {}) }
[one, two].each(&:join)
puts "stock #{Item.find(1).stock}"
