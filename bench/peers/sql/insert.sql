insert into recipe (id, content, embedding) values (%s, %s, %s::vector)
