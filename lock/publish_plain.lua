-- publish tells the waiters. A user without the right to it has waiters that poll.
local function publish(channel, message)
  redis.pcall('publish', channel, message)
end

